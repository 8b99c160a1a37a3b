package observe

// stateLetter gives the letter of proc_pid_stat(5) for p_stat in struct
// extern_proc of macOS's <sys/proc.h>: SIDL 1, SRUN 2, SSLEEP 3, SSTOP 4,
// SZOMB 5.
func stateLetter(stat int8) byte {
	const letters = "?IRSTZ"
	if stat < 0 || int(stat) >= len(letters) {
		return letters[0]
	}
	return letters[stat]
}
