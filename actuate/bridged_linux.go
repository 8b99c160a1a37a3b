package actuate

// selfPath is what a bridge is executed as: the program that runs now, whatever is
// on the disk meanwhile. A wrapper, which is another program, cannot use it.
func selfPath(string) string { return "/proc/self/exe" }
