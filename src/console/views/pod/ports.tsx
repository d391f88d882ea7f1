/** Ports of a container: the HTTP response through the API server's proxy, and the command that forwards the port. */
import { useSignal } from '@preact/signals';
import type { ContainerPort } from '../../../api/gen/core-v1.ts';
import { ApiError, send } from '../../api/http.ts';
import { textOf } from '../../api/lines.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';

interface PortsProps {
  readonly of: ObjectRef;
  readonly ports: readonly ContainerPort[];
  /** Whether the user may send requests through the proxy, and may forward. */
  readonly mayAsk: boolean;
  readonly mayForward: boolean;
}

export function Ports({ of: ref, ports, mayAsk, mayForward }: PortsProps) {
  return (
    <ul class="pod-ports">
      {ports.map(({ name = '', containerPort, protocol = 'TCP' }) => (
        <li key={`${protocol} ${containerPort}`}>
          <span class="mono">{`${containerPort}/${protocol}${name === '' ? '' : ` ${name}`}`}</span>
          {protocol === 'TCP' && mayAsk ? <Ask of={ref} port={containerPort} /> : null}
          {protocol === 'TCP' && mayForward ? (
            <code class="mono">{`kubectl port-forward -n ${ref.namespace} pod/${ref.name} ${containerPort}`}</code>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

/** The limit of characters of a response that are shown. */
const MOST_SHOWN = 20_000;

function Ask({ of: ref, port }: { readonly of: ObjectRef; readonly port: number }) {
  const path = useSignal('/');
  const answer = useSignal('');
  const { ports: words } = texts.pod;
  const base = `${objectPath({ ...ref, name: `${ref.name}:${port}` })}/proxy`;
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    answer.value = texts.shell.loading;
    answer.value = await answerOf(`${base}${path.value.startsWith('/') ? '' : '/'}${path.value}`);
  };
  return (
    <>
      <form class="pod-ask" onSubmit={(event) => void ask(event)}>
        <input
          class="mono"
          aria-label={words.path(port)}
          spellcheck={false}
          value={path.value}
          onInput={({ currentTarget }) => (path.value = currentTarget.value)}
        />
        <button type="submit">{words.ask}</button>
        <a href={`${base}/`} target="_blank" rel="noopener noreferrer" title={words.openHint}>
          {words.open}
        </a>
      </form>
      {answer.value === '' ? null : (
        <pre class="mono" role="region" aria-label={words.answer(port)} tabIndex={0}>
          {answer.value}
        </pre>
      )}
    </>
  );
}

/** Status, type and the start of the text. Markup of a pod is shown as text and never rendered. */
async function answerOf(path: string): Promise<string> {
  try {
    const response = await send(path, { foreign: true });
    let text = '';
    for await (const piece of textOf(response)) {
      text += piece;
      if (text.length > MOST_SHOWN) break;
    }
    const type = response.headers.get('content-type') ?? '';
    return `${response.status} ${type}\n\n${text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)} …` : text}`;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return `${error.code === 0 ? '' : error.code} ${error.message.slice(0, MOST_SHOWN)}`;
  }
}
