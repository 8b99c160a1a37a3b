package bearer

import (
	"io/fs"
	"net/http"
	"os"
	"sync"
)

// Watched is a token file that may change: it is looked at for each request, and read
// again when its size or its time is another. It may be used concurrently.
type Watched struct {
	path    string
	trouble func(error)

	mu    sync.Mutex
	token Token // the zero one where the file cannot be used
	stamp stamp // of the file that token is from
	said  string
}

// stamp tells one content of a file from the next.
type stamp struct {
	size, modified int64 // bytes; nanoseconds since 1970
}

// Watch gives the file at path, which has to be as ClosedToOthers wants it. Trouble is
// called when it cannot be used, once for as long as the reason stays the same, with
// the error of ReadFile. It must not call back.
func Watch(path string, trouble func(error)) *Watched {
	return &Watched{path: path, trouble: trouble}
}

// ShownBy says whether a request shows what the file holds now. What cannot be used
// lets in nobody.
func (w *Watched) ShownBy(r *http.Request) bool { return w.now().ShownBy(r) }

// now gives the token of the file as it is.
func (w *Watched) now() Token {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := stampOf(os.Stat(w.path)) // before it is read: what changes meanwhile is seen next time
	if w.token.known && now == w.stamp {
		return w.token
	}
	text, err := ReadFile(w.path, ClosedToOthers)
	w.token, w.stamp = TokenOf(text), now
	w.sayLocked(err)
	return w.token
}

func stampOf(fi fs.FileInfo, err error) stamp {
	if err != nil {
		return stamp{}
	}
	return stamp{fi.Size(), fi.ModTime().UnixNano()}
}

func (w *Watched) sayLocked(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != w.said {
		w.trouble(err)
	}
	w.said = text
}
