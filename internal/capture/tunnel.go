package capture

// Tunnelled notes how many bytes passed each way of a connection that left HTTP
// after 101 Switching Protocols. They are not kept. Call it before End.
func (x *Exchange) Tunnelled(sent, received uint64) {
	if x.off {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.req.mu.Lock()
	defer x.req.mu.Unlock()
	x.req.buf.size += sent
	x.res.buf.size += received
}
