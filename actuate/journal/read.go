package journal

import "context"

// Read gives each line of the file to take, as Load does, and says how many of
// the records that were appended are among them, or never will be: record number
// next, counted from 0, is the first that take was not given. Nothing is written
// meanwhile, so that take should do little; Append waits for nobody. The error is
// that of ctx, if that ends first, or says that not all of the file could be read.
func (j *Journal) Read(ctx context.Context, take func(line []byte) error) (next uint64, err error) {
	type outcome struct {
		next uint64
		err  error
	}
	read := func() outcome {
		j.mu.Lock()
		next := j.left - j.pending
		j.mu.Unlock()
		_, err := Load(j.file.path, take)
		return outcome{next, err}
	}
	done := make(chan outcome, 1)
	select {
	case j.do <- func() { done <- read() }:
		o := <-done // take may not be called after we have returned
		return o.next, o.err
	case <-j.done:
		o := read() // nobody writes any more
		return o.next, o.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
