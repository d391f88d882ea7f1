/**
 * Opens directories and files in a volume while containers may replace parents by symbolic links: each directory is
 * opened relative to the one above, and never through a link.
 */
import type { Files, PathHandle } from '../../platform/files.ts';

/** Calls `use` with a path of the directory `names` below `root`, valid while `use` runs. */
export async function inDirectory<T>(
  files: Pick<Files, 'openPath'>,
  at: { readonly root: string; readonly names: readonly string[] },
  use: (path: string) => Promise<T>,
): Promise<T> {
  let opened = await files.openPath(at.root);
  try {
    for (const name of at.names) {
      const next = await files.openPath(`${opened.path}/${name}`);
      await opened.close();
      opened = next;
      await mustBeDirectory(opened, name);
    }
    return await use(opened.path);
  } finally {
    await opened.close();
  }
}

async function mustBeDirectory(opened: PathHandle, name: string): Promise<void> {
  const { kind } = await opened.stat();
  if (kind !== 'directory')
    throw new Error(`${name} was a directory and is a ${kind}: the volume was changed meanwhile`);
}

/** The text of a regular file below `root`. Rejects when it is larger than `maxBytes` or not a regular file. */
export function readFileInside(
  files: Pick<Files, 'open' | 'openPath'>,
  at: { readonly root: string; readonly names: readonly string[] },
  maxBytes: number,
): Promise<string> {
  const name = at.names.at(-1) ?? '';
  return inDirectory(files, { root: at.root, names: at.names.slice(0, -1) }, async (directory) => {
    const handle = await files.open(`${directory}/${name}`, 'r');
    try {
      const bytes = await handle.read(0, maxBytes + 1);
      if (bytes.length > maxBytes) throw new Error(`${name} has more than ${maxBytes} bytes`);
      return Buffer.from(bytes).toString('utf8');
    } finally {
      await handle.close();
    }
  });
}
