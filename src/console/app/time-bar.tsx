/** The time bar below the header, which selects a moment of the past for all views, or the present. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { humanDuration } from '../../api/age.ts';
import { ApiError } from '../api/http.ts';
import { listPath } from '../api/kinds.ts';
import { readSpan, type Span } from '../api/past.ts';
import { listable, listableKind } from './cluster-state.ts';
import { chosenMs, hasPast, setMoment, timeBarOpen } from './moment.ts';
import { ReplayBar, ReplayTicks } from './replay-bar.tsx';
import { namespace } from './router.ts';
import { SimulationBar } from './simulation-bar.tsx';
import { simulation } from './simulation.ts';
import { texts } from './texts.ts';

/** The interval at which the end of the slider moves. */
const PERIOD_MS = 10_000;
/** The interval for virtual time, which may run faster. */
const FAST_PERIOD_MS = 1000;
/** The slider must rest this long before its moment is selected. */
const REST_MS = 120;
const STEPS = [
  { label: texts.time.steps.minuteBack, sign: '−1 min', byMs: -60_000 },
  { label: texts.time.steps.secondsBack, sign: '−10 s', byMs: -10_000 },
  { label: texts.time.steps.secondsOn, sign: '+10 s', byMs: 10_000 },
  { label: texts.time.steps.minuteOn, sign: '+1 min', byMs: 60_000 },
];

export function TimeBar() {
  if (!timeBarOpen.value && chosenMs.value === undefined) return null;
  return (
    <section class={chosenMs.value === undefined ? 'time-bar' : 'time-bar past'} aria-label={texts.time.title}>
      <TimeControls />
      <SimulationBar />
    </section>
  );
}

function TimeControls() {
  const { span, problem } = useSpan();
  const { time } = texts;
  const atMs = chosenMs.value;
  if (span === undefined)
    return (
      <>
        <span role="status">{problem === '' ? texts.shell.loading : problem}</span>
        {atMs === undefined ? null : <LiveButton />}
      </>
    );
  return (
    <>
      <div>
        <MomentSlider span={span} />
        <ReplayTicks span={span} />
      </div>
      <div class="time-steps">
        {STEPS.map(({ label, sign, byMs }) => (
          <button
            key={sign}
            type="button"
            title={label}
            disabled={byMs > 0 && atMs === undefined}
            onClick={() => moveBy(byMs, span)}
          >
            {sign}
          </button>
        ))}
        <input
          type="datetime-local"
          step="1"
          aria-label={time.exact}
          min={localText(span.sinceMs)}
          max={localText(span.nowMs)}
          value={localText(atMs ?? span.nowMs)}
          onChange={({ currentTarget: { value } }) => {
            const chosen = Date.parse(value);
            if (!Number.isNaN(chosen)) setMoment(within(chosen, span));
          }}
        />
        <LiveButton />
      </div>
      <p class="time-shown" role="status">
        {shownText(atMs, span)}
        {hasPast.value || atMs === undefined ? null : <strong> {time.presentOnly}</strong>}
      </p>
      <ReplayBar span={span} />
    </>
  );
}

function LiveButton() {
  return (
    <button
      type="button"
      class="primary"
      disabled={chosenMs.value === undefined}
      onClick={() => {
        timeBarOpen.value = true; // the focus stays where it is
        setMoment(undefined);
      }}
    >
      {texts.time.live}
    </button>
  );
}

function MomentSlider({ span }: { readonly span: Span }) {
  /** The position of the moved slider until the address has changed. */
  const moved = useSignal<number | undefined>(undefined);
  const atMs = moved.value ?? chosenMs.value ?? span.nowMs;
  useEffect(() => {
    const target = moved.value;
    if (target === undefined) return undefined;
    const timer = setTimeout(() => {
      moved.value = undefined;
      setMoment(target >= span.nowMs ? undefined : target);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [moved.value]);
  return (
    <input
      type="range"
      class="time-slider"
      aria-label={texts.time.slider}
      aria-valuetext={shownText(atMs >= span.nowMs ? undefined : atMs, span)}
      min={Math.floor(span.sinceMs / 1000)}
      max={Math.floor(span.nowMs / 1000)}
      step={1}
      value={Math.round(atMs / 1000)}
      onInput={({ currentTarget: { valueAsNumber } }) => {
        timeBarOpen.value = true;
        moved.value = within(valueAsNumber * 1000, span);
      }}
    />
  );
}

function moveBy(byMs: number, span: Span): void {
  const target = (chosenMs.peek() ?? Math.floor(span.nowMs / 1000) * 1000) + byMs;
  timeBarOpen.value = true;
  setMoment(target >= span.nowMs ? undefined : within(target, span));
}

function within(atMs: number, { sinceMs, nowMs }: Span): number {
  return Math.min(Math.max(atMs, sinceMs), nowMs);
}

function shownText(atMs: number | undefined, { sinceMs, nowMs }: Span): string {
  const { time } = texts;
  if (atMs === undefined) return `${time.isLive} · ${time.since(whenText(sinceMs))}`;
  return time.shown(whenText(atMs), humanDuration(Math.max(0, nowMs - atMs)));
}

function whenText(ms: number): string {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return isToday ? new Date(ms).toLocaleTimeString() : new Date(ms).toLocaleString();
}

/** The value of a field for local times. */
function localText(ms: number): string {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The recorded span of the current list, polled while the bar is shown. */
function useSpan(): { readonly span: Span | undefined; readonly problem: string } {
  const span = useSignal<Span | undefined>(undefined);
  const problem = useSignal('');
  const kind = listableKind('pods') ?? listable.value.find(({ verbs }) => verbs.includes('watch'));
  const isFast = simulation.value?.clock !== undefined;
  const path = kind === undefined ? '' : listPath(kind, namespace.value);
  useEffect(() => {
    if (path === '') return undefined;
    const life = new AbortController();
    const ask = (): void => {
      if (document.hidden) return;
      readSpan(path, life.signal).then(
        (found) => {
          span.value = found;
          problem.value = '';
        },
        (error: unknown) => {
          if (life.signal.aborted) return;
          if (!(error instanceof ApiError)) throw error;
          problem.value = error.code === 404 ? texts.time.off : `${texts.time.failed} ${error.message}`;
        },
      );
    };
    const timer = setInterval(ask, isFast ? FAST_PERIOD_MS : PERIOD_MS);
    ask();
    return () => {
      clearInterval(timer);
      life.abort();
    };
  }, [path, isFast]);
  return { span: span.value, problem: problem.value };
}
