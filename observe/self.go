package observe

import "os"

// ownPID is the process that is nobody's member.
func ownPID() int { return os.Getpid() }

// ownUID is the user that we run as.
func ownUID() int { return os.Geteuid() }
