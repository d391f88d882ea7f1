/** The files of a container: folders can be opened, files and folders saved. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { kindNamed, kinds } from '../../app/cluster-state.ts';
import { objectHref, objectOf } from '../../app/hrefs.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { useMayDo } from '../../parts/access.ts';
import { choiceOf } from '../../parts/container-choice.ts';
import { ObjectHeader } from '../../parts/object-header.tsx';
import { ObjectTrouble } from '../../parts/object-trouble.tsx';
import { useObject } from '../../parts/use-object.ts';
import type { ViewProps } from '../contract.ts';
import { FolderTable } from './folder-table.tsx';
import { below } from './listing.ts';

export function View({ route }: ViewProps) {
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  const ref = objectOf(route, kindNamed);
  if (ref === undefined) return <p class="notice">{texts.shell.noView}</p>;
  return <PodFiles key={objectPath(ref)} of={ref} params={route.params} />;
}

function PodFiles({ of: ref, params }: { readonly of: ObjectRef; readonly params: URLSearchParams }) {
  const state = useObject(ref);
  const { object } = state;
  const mayDo = useMayDo(ref);
  const mayExec = ['get', 'create'].every((verb) => mayDo({ verb, resource: 'pods', subresource: 'exec' }));
  const path = params.get('path') ?? '/';
  const choice = object === undefined ? undefined : choiceOf(object as Pod, params);
  return (
    <section class="files">
      <ObjectHeader of={ref} mayDo={mayDo} title={texts.files.title} />
      <ObjectTrouble state={state} />
      {choice === undefined ? null : mayExec ? (
        <>
          <div class="files-bar">
            <select
              aria-label={texts.terminal.container}
              value={choice.container}
              onChange={({ currentTarget }) => setParams({ container: currentTarget.value, path: '' })}
            >
              {choice.containers.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            <Crumbs of={ref} container={choice.container} path={path} />
          </div>
          <FolderTable
            key={`${choice.container} ${path}`}
            place={{ pod: ref, container: choice.container }}
            folder={path}
          />
        </>
      ) : (
        <p class="notice">{texts.terminal.mayNot}</p>
      )}
    </section>
  );
}

interface CrumbsProps {
  readonly of: ObjectRef;
  readonly container: string;
  readonly path: string;
}

function Crumbs({ of: ref, container, path }: CrumbsProps) {
  const parts = path.split('/').filter((part) => part !== '');
  const folders = parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
  return (
    <nav class="files-crumbs mono" aria-label={texts.files.path}>
      {['/', ...folders].map((folder, index) => (
        <a
          key={folder}
          href={objectHref('files', ref, { container, path: folder })}
          aria-current={folder === below(path, '.') ? 'page' : undefined}
        >
          {index === 0 ? '/' : `${parts[index - 1]}/`}
        </a>
      ))}
    </nav>
  );
}
