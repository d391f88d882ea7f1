/** One pair of pods: the allowed traffic, and the effect of each policy on it. */
import { useSignal } from '@preact/signals';
import type { Kind } from '../../api/kinds.ts';
import type { DecidingPolicy, Reach } from '../../../api/reach.ts';
import { type PodPlace, readReach } from '../../api/reach.ts';
import { kindNamed } from '../../app/cluster-state.ts';
import { objectHref } from '../../app/hrefs.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { Badge } from '../../parts/badge.tsx';
import type { Tone } from '../../parts/tone.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { portsText } from './port-text.ts';

interface WhatIfProps {
  readonly params: URLSearchParams;
  readonly pods: Kind;
  /** Pods that the field offers; others can be typed. */
  readonly suggestions: readonly string[];
}

const PERIOD_MS = 5000;
const SHOWN_SUGGESTIONS = 100;

export function WhatIf({ params, pods, suggestions }: WhatIfProps) {
  const { policies: words } = texts.topology;
  const from = params.get('from') ?? '';
  const to = params.get('to') ?? '';
  return (
    <section class="topology-what-if" aria-label={words.whatIf}>
      <h2>{words.whatIf}</h2>
      <Pair key={`${from} ${to}`} from={from} to={to} />
      <datalist id="topology-pods">
        {suggestions.slice(0, SHOWN_SUGGESTIONS).map((place) => (
          <option key={place} value={place} />
        ))}
      </datalist>
      <PairAnswer pods={pods} from={parsePlace(from)} to={parsePlace(to)} />
    </section>
  );
}

function Pair({ from, to }: { readonly from: string; readonly to: string }) {
  const { policies: words } = texts.topology;
  const pair = { from: useSignal(from), to: useSignal(to) };
  const ask = (event: Event): void => {
    event.preventDefault();
    setParams({ from: pair.from.value.trim(), to: pair.to.value.trim() }, { replace: false });
  };
  return (
    <form onSubmit={ask}>
      {(['from', 'to'] as const).map((end) => (
        <label key={end}>
          <span class="dim">{words[end]}</span>
          <input
            class="mono"
            list="topology-pods"
            required
            pattern="[^/]+/[^/]+"
            placeholder={words.pod}
            title={words.pod}
            spellcheck={false}
            autocomplete="off"
            value={pair[end].value}
            onInput={({ currentTarget }) => (pair[end].value = currentTarget.value)}
          />
        </label>
      ))}
      <button type="submit" class="primary">
        {words.ask}
      </button>
    </form>
  );
}

function parsePlace(text: string): PodPlace | undefined {
  const [namespace = '', name = '', ...rest] = text.split('/');
  return namespace === '' || name === '' || rest.length > 0 ? undefined : { namespace, name };
}

interface PairAnswerProps {
  readonly pods: Kind;
  readonly from: PodPlace | undefined;
  readonly to: PodPlace | undefined;
}

function PairAnswer({ pods, from, to }: PairAnswerProps) {
  const asked = from !== undefined && to !== undefined;
  const { answer, error } = usePolled<Reach | undefined>({
    key: JSON.stringify([from, to]),
    periodMs: PERIOD_MS,
    ask: (signal) => (asked ? readReach(pods, { from, to }, signal) : Promise.resolve(undefined)),
    final: () => !asked,
  });
  if (!asked) return null;
  if (error !== undefined) return <p role="alert">{error.message}</p>;
  if (answer === undefined) return <p class="dim">{texts.shell.loading}</p>;
  return <Verdict reach={answer} from={from} to={to} />;
}

const TONES: Readonly<Record<Reach['verdict'], Tone>> = { Open: 'good', Limited: 'busy', Closed: 'bad' };

function Verdict({
  reach: { verdict, because, ports, egress, ingress },
  from,
  to,
}: {
  readonly reach: Reach;
  readonly from: PodPlace;
  readonly to: PodPlace;
}) {
  const { policies: words } = texts.topology;
  return (
    <div class="topology-verdict" role="status">
      <p>
        <Badge word={words.verdicts[verdict]} tone={TONES[verdict]} />{' '}
        {ports.length === 0 ? null : <strong>{portsText(ports)}</strong>}
      </p>
      {because === undefined ? (
        <div class="topology-sides">
          <Side title={words.egress(from.name)} policies={egress} />
          <Side title={words.ingress(to.name)} policies={ingress} />
        </div>
      ) : (
        <p>{words.because[because]}</p>
      )}
    </div>
  );
}

function Side({ title, policies }: { readonly title: string; readonly policies: readonly DecidingPolicy[] }) {
  const { policies: words } = texts.topology;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {policies.length === 0 ? <p class="dim">{words.none}</p> : null}
      <ul>
        {policies.map((policy) => (
          <li key={policy.name}>
            <PolicyLine policy={policy} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function PolicyLine({
  policy: { namespace, name, verdict, ports, rules, excess },
}: {
  readonly policy: DecidingPolicy;
}) {
  const { policies: words } = texts.topology;
  const kind = kindNamed('networkpolicies.networking.k8s.io');
  return (
    <>
      <Badge word={words.legend[verdict]} tone={TONES[verdict]} />{' '}
      {kind === undefined ? name : <a href={objectHref('object', { kind, namespace, name })}>{name}</a>}{' '}
      {`${words.lets[verdict]} ${portsText(ports)}`.trimEnd()}
      {rules.length === 0 ? null : ` ${words.byRules(rules.map((rule) => rule + 1).join(', '))}`}
      {excess === undefined ? null : <span class="dim">{` ${words.excess(excess)}`}</span>}
    </>
  );
}
