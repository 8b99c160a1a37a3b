//go:build linux

package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// stuckPayload hangs in the kernel in a way that makes /proc/PID/environ hang
// too: a thread of it holds the lock of its memory (mmap_lock), and waits for a
// file system whose server does not answer. Its argument is a directory to mount
// that on; the server, which is the test, gives /dev/fuse as descriptor 3.
const stuckPayload = "stuck"

func stuck(args []string) int {
	runtime.LockOSThread() // for the mount namespace
	file, err := mountFuse(args[0])
	if err != nil {
		fmt.Println("cannot mount:", err)
		return 1
	}
	page, err := syscall.Mmap(int(file.Fd()), 0, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		fmt.Println("cannot map:", err)
		return 1
	}
	page[0] = 1 // it has to be written back now
	// Mapping something else over it does so with the lock held.
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&page[0])), pageSize,
		syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS|syscall.MAP_FIXED, ^uintptr(0), 0)
	fmt.Println("not stuck:", errno)
	return 1
}

const pageSize = 4096

// mountFuse mounts the file system where nobody else sees it, and opens the one
// file in it.
func mountFuse(dir string) (*os.File, error) {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return nil, err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return nil, err
	}
	err := syscall.Mount("stuck", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, "fd=3,rootmode=40000,user_id=0,group_id=0")
	syscall.Close(3) // or we would be the server's heir
	if err != nil {
		return nil, err
	}
	fmt.Println("mounted")
	return os.OpenFile(dir+"/file", os.O_RDWR, 0)
}

// Operations of fuse(4), as linux/fuse.h numbers them.
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseWrite   = 16
	fuseInit    = 26
)

// serveFuse serves a file system with one file of one page, until its device is
// closed. What is written to that is never answered; asked is closed then.
func serveFuse(device *os.File, asked chan<- struct{}) {
	request := make([]byte, 1<<18)
	for {
		n, err := device.Read(request)
		if err != nil || n < 40 {
			return
		}
		opcode, unique, node := binary.LittleEndian.Uint32(request[4:]), request[8:16], binary.LittleEndian.Uint64(request[16:])
		body, errno := []byte(nil), syscall.Errno(0)
		switch opcode {
		case fuseForget:
			continue
		case fuseWrite:
			close(asked)
			return
		case fuseInit:
			body = words(uint32(7), uint32(31), uint32(0), uint32(0), uint32(0), uint32(pageSize), uint32(1), [9]uint32{})
		case fuseLookup:
			body = append(words(uint64(2), uint64(0), uint64(60), uint64(60), uint64(0)), attributes(2)...)
		case fuseGetattr:
			body = append(words(uint64(60), uint64(0)), attributes(node)...)
		case fuseOpen:
			body = words(uint64(1), uint64(0))
		case fuseRead:
			body = make([]byte, pageSize)
		default:
			errno = syscall.ENOSYS
		}
		head := words(uint32(16+len(body)), -int32(errno))
		_, _ = device.Write(append(append(head, unique...), body...))
	}
}

// attributes are struct fuse_attr: of the root (1), or of the file.
func attributes(node uint64) []byte {
	mode := uint32(syscall.S_IFREG | 0o600)
	if node == 1 {
		mode = syscall.S_IFDIR | 0o700
	}
	return words(node, uint64(pageSize), uint64(8), [3]uint64{}, [3]uint32{}, mode, uint32(1), [3]uint32{}, uint32(pageSize), uint32(0))
}

func words(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}
