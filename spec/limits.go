package spec

// The limits on what a manifest may hold.
const (
	// MaxFileSize is the size in bytes of a manifest file.
	MaxFileSize = 1 << 20
	// MaxEnvString is the size in bytes of one NAME=value and of one argument,
	// each with the NUL that ends it: MAX_ARG_STRLEN of execve(2), 32 pages of
	// 4 KiB. The kernel refuses more.
	MaxEnvString = 128 << 10
	// maxExpanded bounds what the aliases of one document may expand to.
	maxExpanded = 2 * MaxFileSize
	// maxDocuments is more than there is room for in a file of valid ones.
	maxDocuments = 12000
	// maxFindings is how many findings of one document are told.
	maxFindings = 100
	// maxEnv, maxEnvFrom and maxPorts bound the lists whose elements are
	// compared with one another.
	maxEnv     = 1000
	maxEnvFrom = 100
	maxPorts   = 100
	// maxHeaders and maxDependencies bound further ones.
	maxHeaders      = 100
	maxDependencies = 100
	// maxProbeSeconds and maxThreshold keep their product, the time after which
	// a probe has failed, from overflowing a duration.
	maxProbeSeconds = 24 * 60 * 60
	maxThreshold    = 100_000
	// maxExitCode is what wait(2) has room for.
	maxExitCode = 255
	// maxGraceSeconds keeps a grace period far from overflowing a duration.
	maxGraceSeconds = 365 * 24 * 60 * 60
	// maxAnnotations is the total size of the annotations, as in Kubernetes.
	maxAnnotations = 256 << 10
)
