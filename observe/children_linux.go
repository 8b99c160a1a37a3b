package observe

import (
	"bytes"
	"os"
)

// childPIDs gives the children of this process: proc_pid_task(5) has a file of
// them for each thread (CONFIG_PROC_CHILDREN). It is empty where there is none.
//
// A stranger is not read again, so only this tells that one was handed to us
// since it was read.
func (t *table) childPIDs() *pidSet {
	set := new(pidSet)
	dir := t.root + "/self/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return set
	}
	for _, thread := range threads {
		data, errno := t.readers[0].read(t.self, "task/"+thread.Name()+"/children")
		if errno != 0 {
			continue
		}
		for len(data) > 0 {
			var word []byte
			word, data, _ = bytes.Cut(data, blank)
			if pid, ok := parseInt(word); ok {
				set.add(int32(pid))
			}
		}
	}
	return set
}

var blank = []byte{' '}
