// Package shorten cuts texts to a number of characters.
package shorten

// Quoted cuts a text of the caller's to the 40 characters that an error quotes.
func Quoted(s string) string { return To(s, 40) }

// To cuts s to at most n characters and marks the cut.
func To(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
