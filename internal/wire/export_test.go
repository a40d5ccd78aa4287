package wire

// DecodeUnfenced is Decode without its last fence, so that tests see a panic.
func DecodeUnfenced(x Exchange) (d Decoded) {
	decode(x, &d)
	return d
}
