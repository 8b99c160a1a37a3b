package main

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads are made in advance: about as many as a busy
// controller comes to have anyway, by the number of cores.
func spareThreads() int { return 5 + 2*runtime.GOMAXPROCS(0) }

// reserveThreads makes threads before they are needed. Go ends the program when
// the kernel refuses it one (clone(2), EAGAIN: the user or the cgroup may have no
// more tasks), and it asks for one whenever a system call takes long: a crowd of
// runaway workloads would take the controller down just when it has to be there.
// Threads that were made once are kept, and rest.
func reserveThreads() {
	var made, ended sync.WaitGroup
	release := make(chan struct{})
	spare := spareThreads()
	made.Add(spare)
	for range spare {
		ended.Go(func() {
			// While it is locked nobody else runs on the thread, so that each of
			// them has to be another one.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			made.Done()
			<-release
		})
	}
	made.Wait()
	close(release)
	ended.Wait()
}
