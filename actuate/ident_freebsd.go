package actuate

// startTick cannot be read yet: kinfo_proc has no form in x/sys here.
func startTick(int) (uint64, error) { return 0, ErrUnsupported }
