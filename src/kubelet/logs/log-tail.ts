/** Reads the end of a log file without reading the whole. Upstream: pkg/util/tail. */
import type { FileHandle, Files } from '../../platform/files.ts';
import { parseLogLine } from './cri-log.ts';

const BLOCK_BYTES = 16 * 1024;
const NEWLINE = 0x0a;

/** Offset of the start of the last `lines` lines; the whole file when it has fewer. */
export async function tailOffset(handle: FileHandle, sizeBytes: number, lines: number): Promise<number> {
  if (lines <= 0) return sizeBytes;
  let remaining = lines;
  for (let end = sizeBytes; end > 0;) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const block = await handle.read(start, end - start);
    for (let at = block.length - 1; at >= 0; at--) {
      // The newline that ends the file belongs to its last line.
      if (block[at] === NEWLINE && start + at !== sizeBytes - 1 && --remaining === 0) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/** The content of the last entries of a CRI log, at most `maxLines` lines and `maxBytes` bytes. */
export async function readLogTail(input: {
  files: Files;
  path: string;
  maxLines: number;
  maxBytes: number;
}): Promise<string> {
  const handle = await input.files.open(input.path, 'r');
  try {
    const { sizeBytes } = await handle.stat();
    const offset = await tailOffset(handle, sizeBytes, input.maxLines);
    // The part of an entry before its content has at most about fifty bytes.
    const from = Math.max(offset, sizeBytes - input.maxBytes - input.maxLines * 64);
    const bytes = await handle.read(from, sizeBytes - from);
    let text = '';
    for (let at = 0; at < bytes.length;) {
      const next = bytes.indexOf(NEWLINE, at);
      const end = next < 0 ? bytes.length : next;
      const entry = parseLogLine(bytes.subarray(at, end));
      if (entry !== undefined) text += Buffer.from(entry.content).toString('utf8') + (entry.partial ? '' : '\n');
      at = end + 1;
    }
    const encoded = Buffer.from(text);
    return encoded.length <= input.maxBytes ? text : encoded.subarray(encoded.length - input.maxBytes).toString('utf8');
  } finally {
    await handle.close();
  }
}
