/**
 * Writes ustar archives: just enough for image layers made in memory. Times and owners are zero, so the digest is
 * stable. By hand rather than by tar-stream: forty lines, synchronous, and the same bytes for the same files.
 */

/** One file of an archive. */
export interface TarEntry {
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly content: Uint8Array;
}

const BLOCK_BYTES = 512;

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`path too long for a tar header: ${entry.path}`);
  block.write(entry.path, 0);
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.content.length, 124, 12);
  octal(0, 136, 12);
  block.fill(' ', 148, 156);
  block.write('0', 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** The archive of these files, with the two closing blocks. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    const padding = (BLOCK_BYTES - (entry.content.length % BLOCK_BYTES)) % BLOCK_BYTES;
    parts.push(header(entry), entry.content, Buffer.alloc(padding));
  }
  parts.push(Buffer.alloc(2 * BLOCK_BYTES));
  return Buffer.concat(parts);
}
