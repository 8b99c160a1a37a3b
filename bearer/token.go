package bearer

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Token is what a server wants to see. The zero Token is nobody's.
type Token struct {
	sum   [sha256.Size]byte
	known bool
}

// TokenOf gives the token that is text, or the zero one for "".
func TokenOf(text string) Token {
	return Token{sum: sha256.Sum256([]byte(text)), known: text != ""}
}

// is says whether shown is the token. How long that takes says nothing about how much
// of it is right: the sums are compared.
func (t Token) is(shown string) bool {
	sum := sha256.Sum256([]byte(shown))
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 && t.known
}

// ShownBy says whether a request shows the token.
func (t Token) ShownBy(r *http.Request) bool {
	credentials, ok := Credentials(r)
	return ok && t.is(credentials)
}

// Credentials are what a request shows in its header Authorization, "" for nothing;
// ok says that their scheme is Bearer, in whatever case it is written (RFC 9110,
// section 11.1).
func Credentials(r *http.Request) (credentials string, ok bool) {
	scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(credentials), strings.EqualFold(scheme, "Bearer")
}
