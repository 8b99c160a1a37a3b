// Package lock sees to it that each owner has one controller.
//
// On Linux the lock is a listening abstract unix socket: no cleaner can delete
// it, it ends with the process that holds it however that ends, and the kernel
// tells who listens. Whoever can connect to it knows that the owner's controller
// lives. A guard shares the socket, says what it does and keeps who asks waiting
// until it ends. Elsewhere it is an flock(2).
//
// Start reading at lock.go, then held.go (who has it) and server_linux.go (what
// it says).
package lock
