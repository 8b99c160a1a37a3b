package spec

import (
	"math"
	"math/big"
	"strings"
	"sync"
)

// MemoryBytes gives the memory limit in bytes, rounded up, or false where
// there is none.
func (l Limits) MemoryBytes() (int64, bool) { return quantity(l.Memory, 1) }

// CPUMillis gives the CPU limit in thousandths of a core, rounded up, or false
// where there is none.
func (l Limits) CPUMillis() (int64, bool) { return quantity(l.CPU, 1000) }

// quantitySuffixes are those of Kubernetes, without n and u, which no limit of
// a process needs.
var quantitySuffixes = sync.OnceValue(func() map[string]*big.Rat {
	return map[string]*big.Rat{
		"": big.NewRat(1, 1), "m": big.NewRat(1, 1000),
		"k": pow(10, 3), "M": pow(10, 6), "G": pow(10, 9), "T": pow(10, 12), "P": pow(10, 15), "E": pow(10, 18),
		"Ki": pow(2, 10), "Mi": pow(2, 20), "Gi": pow(2, 30), "Ti": pow(2, 40), "Pi": pow(2, 50), "Ei": pow(2, 60),
	}
})

func pow(base, exponent int64) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil))
}

// quantity gives a Kubernetes quantity times scale, rounded up. It is false for
// what is none, is not above zero, or does not fit.
//
// It is our own: resource.Quantity keeps a form for printing that nobody here
// prints, at the price of a decimal library.
func quantity(s string, scale int64) (int64, bool) {
	end := strings.LastIndexAny(s, "0123456789.") + 1
	number, suffix := s[:end], s[end:]
	if dot := strings.TrimSuffix(number, "."); isDigits(dot) {
		number = dot // "1." is a quantity to Kubernetes
	}
	const longest = 32 // an exponent could ask for any amount of memory
	factor, known := quantitySuffixes()[suffix]
	if !known || len(number) > longest || !isNumber(number) {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, false
	}
	r.Mul(r, factor).Mul(r, big.NewRat(scale, 1))
	up, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		up.Add(up, big.NewInt(1))
	}
	if !up.IsInt64() || up.Int64() <= 0 || up.Int64() == math.MaxInt64 {
		return 0, false
	}
	return up.Int64(), true
}

func isNumber(s string) bool {
	whole, fraction, found := strings.Cut(s, ".")
	return isDigits(whole) && (!found || isDigits(fraction)) || whole == "" && isDigits(fraction)
}
