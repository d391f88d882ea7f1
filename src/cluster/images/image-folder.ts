/**
 * `<data-dir>/images`: archives in it are loaded before the node admits pods, and again when one is added or changed;
 * a `.txt` file names images to pull, once. Images from archives are pinned, since no registry may have them. A
 * record beside them has the loaded files, so that a restart reads no archive twice. Upstream: k3s's `agent/images`.
 */
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { background } from '../../platform/unexpected.ts';
import type { MachineImages } from './machine-images.ts';

type Deps = Pick<Platform, 'clock' | 'files' | 'log'>;

/** The size and time of each file when it was loaded. */
type Notes = Record<string, { readonly size: number; readonly mtimeMs: number; readonly images: readonly string[] }>;

const ARCHIVE = /\.(tar|tar\.gz|tgz|tar\.zst|tzst|txt)$/;
/** A file is read when it has not changed for this long, since it may still be being copied. */
const STILL_MS = 500;

/**
 * Loads the existing files, then watches until the signal aborts. Resolves after the first pass; failures are logged.
 */
export async function keepImageFolder(
  { clock, files, log }: Deps,
  folder: string,
  images: () => Promise<MachineImages>,
  signal: AbortSignal,
): Promise<void> {
  let running: Promise<void> | undefined;
  let again = false;
  const pass = async (wait: boolean): Promise<void> => {
    do {
      again = false;
      if (wait) await sleepUnlessAborted(clock, STILL_MS, signal);
      if (signal.aborted) return;
      await loadFolder({ clock, files, log }, folder, images);
    } while (again && !signal.aborted);
  };
  const trigger = (wait: boolean): Promise<void> => {
    again = true;
    return (running ??= pass(wait).finally(() => (running = undefined)));
  };
  const watching = files.watch(
    folder,
    () => {
      if (!signal.aborted) background(log, 'loading of the images folder failed', trigger(true));
    },
    (error) => log.warn('The images folder is no longer watched', { folder, err: error }),
  );
  onAbort(signal, () => watching.stop());
  await trigger(false);
}

async function loadFolder(deps: Deps, folder: string, open: () => Promise<MachineImages>): Promise<void> {
  const { files, log } = deps;
  const names = (await files.readDir(folder)).filter((name) => ARCHIVE.test(name) && !name.startsWith('.'));
  if (names.length === 0) return;
  // A folder that nodes share is a link: each node's record is beside the link.
  const isShared = (await files.lstat(folder)).kind === 'symlink';
  const notesFile = isShared ? `${folder}.loaded.json` : `${folder}/.loaded.json`;
  const before = await readNotes(files, notesFile);
  const images = await open();
  const there = new Set((await images.list()).flatMap(({ repoTags }) => repoTags));
  const after: Notes = {};
  for (const name of names) {
    try {
      const { sizeBytes: size, mtimeMs } = await files.stat(`${folder}/${name}`);
      const note = before[name];
      const isLoaded =
        note?.size === size && note.mtimeMs === mtimeMs && note.images.every((image) => there.has(image));
      after[name] = isLoaded ? note : { size, mtimeMs, images: await loadFile(deps, `${folder}/${name}`, images) };
    } catch (error) {
      log.warn('A file of the images folder cannot be loaded', {
        file: `${folder}/${name}`,
        reason: errorMessage(error),
      });
    }
  }
  if (JSON.stringify(after) !== JSON.stringify(before)) await files.writeFileAtomic(notesFile, JSON.stringify(after));
}

async function loadFile({ files, log }: Deps, path: string, images: MachineImages): Promise<string[]> {
  if (path.endsWith('.txt')) {
    const wanted = (await files.readText(path))
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'));
    for (const image of wanted) await images.pull(image);
    log.info('Images of the images folder were pulled', { file: path, images: wanted });
    return [];
  }
  const { openArchive } = await import('./open-archive.ts');
  const { images: loaded } = await images.load(await openArchive(path), { pinned: true });
  const names = loaded.map(({ name }) => name);
  log.info('Images of the images folder were loaded', { file: path, images: names });
  return names;
}

async function readNotes(files: Platform['files'], path: string): Promise<Notes> {
  try {
    return JSON.parse(await files.readText(path)) as Notes;
  } catch {
    return {}; // missing or incomplete: everything is loaded
  }
}
