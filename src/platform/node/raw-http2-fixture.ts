/** HTTP/2 written frame by frame, as no client library sends it: source text for the workers and processes of tests. */
export const RAW_HTTP2 = `
  const frame = (type, flags, stream, payload) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const start = Buffer.concat([Buffer.from('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'), frame(4, 0, 0, Buffer.alloc(0))]);
  const authority = [0x41, 1, 0x61];
  const get = (stream) => frame(1, 5, stream, Buffer.from([0x82, 0x87, 0x84, ...authority]));
  const post = (stream) => frame(1, 4, stream, Buffer.from([0x83, 0x87, 0x84, ...authority]));
  const data = (stream, length) => frame(0, 0, stream, Buffer.alloc(length));
  const brokenFrames = {
    'send data for no stream': data(0, 1),
    'leave with an error': frame(7, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 2])),
  };
`;
