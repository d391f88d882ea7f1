/** The head of a response that accepts an upgrade to a protocol. Everything after it belongs to the protocol. */
export function switchedHead(protocol: string): string {
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
}
