/** The table of one folder of a container. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { objectHref } from '../../app/hrefs.ts';
import { numberText, texts } from '../../app/texts.ts';
import { bytesText } from '../../parts/amounts.ts';
import { saveFile } from '../../parts/save-file.ts';
import { type FilePlace, FilesError, listFolder, readFile } from './container-files.ts';
import { below, type FileEntry } from './listing.ts';

interface FolderProps {
  readonly place: FilePlace;
  readonly folder: string;
}

/** The limit of rows. */
const MOST_ROWS = 2000;

export function FolderTable({ place, folder }: FolderProps) {
  const { files: words } = texts;
  const entries = useSignal<readonly FileEntry[] | undefined>(undefined);
  const problem = useSignal('');
  useEffect(() => {
    const life = new AbortController();
    listFolder(place, folder, life.signal).then(
      (found) => (entries.value = found),
      (error: unknown) => {
        if (life.signal.aborted) return;
        if (!(error instanceof FilesError)) throw error;
        problem.value = error.message;
      },
    );
    return () => life.abort();
  }, []);
  if (problem.value !== '') return <p role="alert">{problem.value}</p>;
  if (entries.value === undefined) return <p class="dim">{texts.shell.loading}</p>;
  if (entries.value.length === 0) return <p class="dim">{words.empty}</p>;
  const shown = entries.value.slice(0, MOST_ROWS);
  return (
    <div class="files-scroll" role="region" aria-label={words.folder} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col" class="files-size">
              {words.size}
            </th>
            <th scope="col">{words.modified}</th>
            <th scope="col" class="files-wide">
              {words.mode}
            </th>
            <th scope="col" class="files-wide">
              {words.owner}
            </th>
            <th scope="col">
              <span class="files-hidden">{words.save}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((entry) => (
            <EntryRow key={entry.name} entry={entry} place={place} folder={folder} />
          ))}
        </tbody>
      </table>
      {entries.value.length > MOST_ROWS ? <p>{words.more(MOST_ROWS, entries.value.length)}</p> : null}
    </div>
  );
}

function EntryRow({ entry, place, folder }: FolderProps & { readonly entry: FileEntry }) {
  const { name, type, target, size, mode, owner, modified } = entry;
  const leads = type === 'folder' || type === 'link';
  const path = below(folder, name);
  return (
    <tr>
      <td class="mono files-name">
        {leads ? (
          <a href={objectHref('files', place.pod, { container: place.container, path })}>
            {type === 'folder' ? `${name}/` : name}
          </a>
        ) : (
          name
        )}
        {target === '' ? null : <span class="dim">{` → ${target}`}</span>}
      </td>
      <td class="mono files-size">
        {type === 'file' && size !== undefined ? <span title={numberText(size)}>{bytesText(size)}</span> : null}
      </td>
      <td class="mono">{modified}</td>
      <td class="mono files-wide">{mode}</td>
      <td class="mono files-wide">{owner}</td>
      <td>{type === 'other' ? null : <Save entry={entry} place={place} folder={folder} />}</td>
    </tr>
  );
}

function Save({ entry, place, folder }: FolderProps & { readonly entry: FileEntry }) {
  const running = useSignal<AbortController | undefined>(undefined);
  const state = useSignal('');
  useEffect(() => () => running.peek()?.abort(), []);
  const save = async (): Promise<void> => {
    const life = new AbortController();
    running.value = life;
    state.value = '';
    const progress = (bytes: number): void => {
      state.value = bytesText(bytes);
    };
    try {
      const content = await readFile(place, { folder, entry }, { signal: life.signal, progress });
      saveFile(entry.type === 'folder' ? `${entry.name}.tar` : entry.name, content);
      state.value = '';
    } catch (error) {
      if (life.signal.aborted) state.value = '';
      else if (error instanceof FilesError) state.value = error.message;
      else throw error;
    } finally {
      running.value = undefined;
    }
  };
  const { files: words } = texts;
  const label = entry.type === 'folder' ? words.saveTar : words.save;
  return (
    <>
      {running.value === undefined ? (
        <button type="button" aria-label={`${label} ${entry.name}`} onClick={() => void save()}>
          {label}
        </button>
      ) : (
        <button type="button" onClick={() => running.value?.abort()}>
          {words.stop}
        </button>
      )}{' '}
      <span aria-live="polite">{state.value}</span>
    </>
  );
}
