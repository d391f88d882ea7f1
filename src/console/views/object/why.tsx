/** The explanation of an object: the verdict, and its causes down to the first. */
import { useEffect, useState } from 'preact/hooks';
import { type Cause, explain, type Explanation } from '../../api/explain.ts';
import { ApiError } from '../../api/http.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { pause } from '../../api/pause.ts';
import { texts } from '../../app/texts.ts';
import { Age } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import type { Tone } from '../../parts/tone.ts';
import { NamedLink } from './links.tsx';

const TONES: Readonly<Record<Explanation['state'], Tone>> = {
  Fine: 'good',
  Progressing: 'busy',
  Trouble: 'bad',
  Unknown: 'done',
};

/** The explanation changes without a change of the object, as when a back-off ends or a node is lost. */
const AGAIN_MS = 5000;

type Answer = { readonly explanation: Explanation } | { readonly error: string } | undefined;

export function Why({ of: ref }: { readonly of: ObjectRef }) {
  const answer = useExplanation(ref);
  if (answer === undefined) return <p class="object-why dim">{texts.object.asking}</p>;
  if ('error' in answer) return <p class="object-why dim">{`${texts.object.noAnswer} ${answer.error}`}</p>;
  const { state, summary, causes, notReadable } = answer.explanation;
  return (
    <section class="object-why" aria-label={texts.object.why} aria-live="polite">
      <p class="object-verdict">
        <Badge word={texts.object.states[state]} tone={TONES[state]} />
        <strong>{`${ref.name} ${summary}`}</strong>
      </p>
      <Causes causes={causes} />
      {notReadable.map((text) => (
        <p key={text} class="dim">
          {text}
        </p>
      ))}
    </section>
  );
}

function Causes({ causes }: { readonly causes: readonly Cause[] }) {
  if (causes.length === 0) return null;
  return (
    <ul>
      {causes.map((cause, index) => (
        <li key={index}>
          <CauseText cause={cause} />
          <Causes causes={cause.because} />
        </li>
      ))}
    </ul>
  );
}

function CauseText({ cause: { code, object, message, since, nextTry, facts = [], cure } }: { readonly cause: Cause }) {
  return (
    <>
      <p>
        {message}{' '}
        <span class="dim">
          {`${code} · `}
          <NamedLink object={object} />
          {since === undefined ? null : (
            <>
              {` · ${texts.object.since} `}
              <Age sinceMs={Date.parse(since)} />
            </>
          )}
          {nextTry === undefined ? null : ` · ${texts.object.nextTry} ${new Date(nextTry).toLocaleTimeString()}`}
        </span>
      </p>
      {facts.length === 0 ? null : <pre class="mono">{facts.join('\n')}</pre>}
      {cure === undefined ? null : (
        <p class="object-cure">
          {`${texts.object.cure}: ${cure.text}`}
          {cure.command === undefined ? null : <code class="mono">{cure.command}</code>}
        </p>
      )}
    </>
  );
}

function useExplanation(ref: ObjectRef): Answer {
  const [answer, setAnswer] = useState<Answer>();
  useEffect(() => {
    const life = new AbortController();
    setAnswer(undefined);
    void keepAsking(ref, setAnswer, life.signal);
    return () => life.abort();
  }, [objectPath(ref)]);
  return answer;
}

async function keepAsking(ref: ObjectRef, show: (answer: Answer) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      if (!document.hidden) show({ explanation: await explain(ref, signal) });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      // 429: other pages of the user are requesting explanations; the current one stays until the next attempt.
      if (error.code !== 429) show({ error: error.message });
      if (error.code === 401 || error.code === 403) return;
    }
    await pause(AGAIN_MS, signal);
  }
}
