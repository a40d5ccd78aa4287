package localclickhouse

import (
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

const (
	// handshakeQuery is what clickhouse-go/v2 sends once per connection.
	handshakeQuery = "SELECT displayName(), version(), revision(), timezone()"
	// handshakeRevision is the protocol in which it reads the answer.
	handshakeRevision = 54460
	displayName       = "docket"
)

// isHandshake says whether the driver asks who it talks to.
func (req request) isHandshake(sql string) bool {
	return req.protocol >= handshakeRevision && req.format == "Native" && strings.TrimSpace(sql) == handshakeQuery
}

// handshake is the answer: the real version, and revision 0, the one in which
// the engine writes all other results. It is a Native block of
// handshakeRevision: block info first, then one row.
func handshake(version string) []byte {
	var b proto.Buffer
	b.PutUVarInt(1) // field: is overflows
	b.PutBool(false)
	b.PutUVarInt(2) // field: bucket number
	b.PutInt32(-1)
	b.PutUVarInt(0) // end of block info
	b.PutUVarInt(4) // columns
	b.PutUVarInt(1) // rows
	column := func(name, kind string) {
		b.PutString(name)
		b.PutString(kind)
		b.PutBool(false) // no custom serialization
	}
	column("displayName()", "String")
	b.PutString(displayName)
	column("version()", "String")
	b.PutString(version)
	column("revision()", "UInt32")
	b.PutUInt32(0)
	column("timezone()", "String")
	b.PutString("UTC")
	return b.Buf
}
