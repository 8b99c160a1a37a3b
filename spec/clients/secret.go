package clients

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secretWords are words of a name whose value is a secret.
var secretWords = []string{
	"token", "tokens", "key", "keys", "apikey", "secret", "secrets", "password", "passwd", "pass", "passphrase",
	"credential", "credentials", "auth", "authorization", "bearer", "pat", "pwd",
}

// secretShapes are the forms of well-known tokens.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(gh[pousr]_|github_pat_|glpat-|sk-|sk_live_|sk_test_|rk_live_|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ[A-Za-z0-9_-]+\.|npm_|hf_|dop_v1_|Bearer \S)`)
})

// isSecret says that a value has to be kept out of a manifest: by the name that it
// has, by its form, or since nobody would write such a thing by hand.
func isSecret(name, value string) bool {
	value = reference().ReplaceAllString(value, "") // what it refers to is elsewhere
	switch {
	case value == "" || isPath(value):
		return false
	case secretShapes().MatchString(value), hasCredentials(value):
		return true
	case isPlain(value):
		return false
	}
	return slices.ContainsFunc(wordsOf(name), func(w string) bool { return slices.Contains(secretWords, w) }) ||
		isRandom(value)
}

// wordsOf takes a name apart: API_KEY, api-key and apiKey are api and key.
func wordsOf(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if unicode.IsUpper(r) && lower {
				b.WriteByte(' ')
			}
			b.WriteRune(unicode.ToLower(r))
			lower = unicode.IsLower(r)
		default:
			b.WriteByte(' ')
			lower = false
		}
	}
	return strings.Fields(b.String())
}

// isPath says that a value names a file rather than holds its content.
func isPath(value string) bool {
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../")
}

// isPlain says that a value is a switch or a small number, which no secret is.
func isPlain(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "yes", "no", "on", "off", "none", "null", "default", "auto":
		return true
	}
	return len(value) <= 4 && strings.Trim(value, "0123456789") == ""
}

// hasCredentials says that a value is a URL with a password in it.
func hasCredentials(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// withoutCredentials is a URL as it may be shown: without user and query.
func withoutCredentials(value string) string {
	u, err := url.Parse(value)
	if err != nil {
		return "its URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// A random word has randomLength characters or more, of which each carries
// randomBits or more; hexadecimal digits carry 4 at most.
const (
	randomLength = 20
	randomBits   = 3.5
)

// isRandom says that a part of a value looks as if it were made by a machine.
func isRandom(value string) bool {
	notAlnum := func(r rune) bool { return !unicode.IsDigit(r) && !unicode.IsLetter(r) }
	return slices.ContainsFunc(strings.FieldsFunc(value, notAlnum), isRandomWord)
}

func isRandomWord(word string) bool {
	digits, letters := 0, 0
	count := map[rune]float64{}
	for _, r := range word {
		count[r]++
		if unicode.IsDigit(r) {
			digits++
		} else {
			letters++
		}
	}
	bits, n := 0.0, float64(len(word))
	for _, c := range count {
		bits -= c / n * math.Log2(c/n)
	}
	return len(word) >= randomLength && digits >= 3 && letters >= 3 && bits >= randomBits
}
