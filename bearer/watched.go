package bearer

import (
	"io/fs"
	"net/http"
	"os"
	"sync"
)

// Watched is a token file that may change: it is looked at for each request, and read
// again when it is another one, or its size, its time or who may read it has changed.
// It may be used concurrently.
type Watched struct {
	path    string
	trouble func(error)

	mu    sync.Mutex
	token Token       // the zero one where the file cannot be used
	from  fs.FileInfo // of the file that token is from; nil where that is not known
	said  string
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
	fi, err := os.Stat(w.path) // before it is read: what changes meanwhile is seen next time
	if w.token.known && err == nil && unchanged(w.from, fi) {
		return w.token
	}
	text, unusable := ReadFile(w.path, ClosedToOthers)
	w.token, w.from = TokenOf(text), fi
	w.sayLocked(unusable)
	return w.token
}

func unchanged(was, is fs.FileInfo) bool {
	return was != nil && os.SameFile(was, is) && was.Size() == is.Size() && was.Mode() == is.Mode() && was.ModTime().Equal(is.ModTime())
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
