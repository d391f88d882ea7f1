/** Memory and huge pages from the kernel's files. */
import type { Files } from '../files.ts';
import type { HostInfo } from '../host.ts';

/** Bytes per name; the file counts in kB. */
export function parseMeminfo(text: string): Map<string, number> {
  const facts = new Map<string, number>();
  for (const line of text.split('\n')) {
    const match = /^([^:]+):\s+(\d+)( kB)?/.exec(line);
    if (match) facts.set(match[1]!, Number(match[2]) * (match[3] === undefined ? 1 : 1024));
  }
  return facts;
}

/** Huge pages in a folder of /sys. */
export async function readHugePages(files: Files, folder: string): Promise<HostInfo['hugePages']> {
  if (!(await files.exists(folder))) return [];
  const pages: { pageSizeBytes: number; count: number }[] = [];
  for (const name of await files.readDir(folder)) {
    const size = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    if (size === undefined) continue;
    const count = Number((await files.readText(`${folder}/${name}/nr_hugepages`)).trim());
    pages.push({ pageSizeBytes: Number(size) * 1024, count });
  }
  return pages;
}
