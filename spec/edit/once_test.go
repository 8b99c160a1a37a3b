package edit

import "github.com/proc-controller/proc-controller/spec"

// Each makes one change in a file, and gives the file after it: data itself where
// nothing changes.

func Set(file string, data []byte, key spec.Key, path []string, value any) ([]byte, error) {
	return once(file, data, func(f *File) error { _, err := f.Set(key, path, value); return err })
}

func Reset(file string, data []byte, key spec.Key, path []string, value any) ([]byte, error) {
	return once(file, data, func(f *File) error { _, err := f.Reset(key, path, value); return err })
}

func Replace(file string, data []byte, d Document) ([]byte, error) {
	return once(file, data, func(f *File) error { _, err := f.Replace(&d); return err })
}

func Append(file string, data []byte, d Document) ([]byte, error) {
	return once(file, data, func(f *File) error { return f.Append(&d) })
}

func Remove(file string, data []byte, key spec.Key) ([]byte, error) {
	return once(file, data, func(f *File) error { return f.Remove(key) })
}

func once(file string, data []byte, change func(*File) error) ([]byte, error) {
	f := Open(file, data)
	if err := change(f); err != nil {
		return nil, err
	}
	return f.Result()
}
