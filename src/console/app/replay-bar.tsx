/** The steps and the failure of a replayed run, on the slider and in a list; each selects its moment. */
import { useSignal } from '@preact/signals';
import { humanDuration } from '../../api/age.ts';
import type { Span } from '../api/past.ts';
import { Badge } from '../parts/badge.tsx';
import { chosenMs, setMoment } from './moment.ts';
import { replay, type ReplayMark } from './replay.ts';
import { texts } from './texts.ts';

/** The thumb of a slider stops half its width before either end. */
const THUMB_HALF = '8px';
/** More ticks would look like one line. */
const MAX_TICKS = 200;
const MAX_OPTION_LENGTH = 100;

export function ReplayTicks({ span }: { readonly span: Span }) {
  const marks = replay.value?.marks.filter(({ kind }) => kind === 'step' || kind === 'failed') ?? [];
  if (marks.length === 0) return null;
  // The failure is drawn last, above the step that failed.
  const places = [...Map.groupBy(marks, (mark) => placeOf(mark, span))].slice(-MAX_TICKS);
  return (
    <div class="replay-ticks" aria-hidden="true">
      {places.map(([place, here]) => (
        <span
          key={place}
          class={here.some(({ kind }) => kind === 'failed') ? 'failed' : ''}
          style={{ left: `calc(${THUMB_HALF} + (100% - 2 * ${THUMB_HALF}) * ${place})` }}
          title={here.map(optionText).join('\n')}
        />
      ))}
    </div>
  );
}

function placeOf({ at }: ReplayMark, { sinceMs, nowMs }: Span): number {
  const length = Math.max(1, nowMs - sinceMs);
  return Math.round((Math.min(Math.max(0, Date.parse(at) - sinceMs), length) / length) * 1000) / 1000;
}

export function ReplayBar({ span }: { readonly span: Span }) {
  /** The selected step: several may have begun at one moment. */
  const chosen = useSignal(-1);
  const run = replay.value;
  if (run === undefined) return null;
  const { replay: words } = texts;
  const steps = run.marks.filter(({ kind }) => kind === 'step');
  const failed = run.marks.find(({ kind }) => kind === 'failed');
  const atMs = chosenMs.value ?? span.nowMs;
  const here = steps[chosen.value];
  const current =
    here !== undefined && Date.parse(here.at) === atMs
      ? chosen.value
      : steps.findLastIndex(({ at }) => Date.parse(at) <= atMs);
  const goTo = (mark: ReplayMark, index: number): void => {
    chosen.value = index;
    goToMark(mark, span);
  };
  return (
    <section class="replay-bar" aria-label={words.region}>
      <strong title={run.about}>{words.title(run.name, run.seed)}</strong>
      {failed === undefined ? (
        <Badge word={words.passed} tone="done" />
      ) : (
        <button type="button" onClick={() => goTo(failed, failed.step - 1)}>
          <Badge word={words.failedAt(failed.step)} tone="bad" />
        </button>
      )}
      <StepChoice steps={steps} current={current} goTo={goTo} />
      <StepNotes step={steps[current]?.step} />
      {run.failure === undefined ? null : (
        <details class="replay-failure">
          <summary>{failed?.text ?? words.whole}</summary>
          <pre tabIndex={0}>{run.failure}</pre>
        </details>
      )}
    </section>
  );
}

interface StepChoiceProps {
  readonly steps: readonly ReplayMark[];
  /** The index of the current step; -1 before the first. */
  readonly current: number;
  goTo(mark: ReplayMark, index: number): void;
}

function StepChoice({ steps, current, goTo }: StepChoiceProps) {
  const { replay: words } = texts;
  return (
    <span class="replay-steps">
      <button
        type="button"
        aria-label={words.before}
        title={words.before}
        disabled={current < 1}
        onClick={() => goTo(steps[current - 1]!, current - 1)}
      >
        ‹
      </button>
      <select
        aria-label={words.step}
        value={current}
        onChange={({ currentTarget: { value } }) => steps[Number(value)] && goTo(steps[Number(value)]!, Number(value))}
      >
        {current < 0 ? <option value={-1}>{words.begins}</option> : null}
        {steps.map((mark, index) => (
          <option key={mark.step} value={index}>
            {optionText(mark)}
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-label={words.next}
        title={words.next}
        disabled={current >= steps.length - 1}
        onClick={() => goTo(steps[current + 1]!, current + 1)}
      >
        ›
      </button>
    </span>
  );
}

function StepNotes({ step }: { readonly step: number | undefined }) {
  const notes = replay.value!.marks.filter((mark) => mark.kind === 'note' && mark.step === step);
  return (
    <>
      {notes.map(({ text }) => (
        <span key={text} class="replay-note">
          {texts.replay.note(text)}
        </span>
      ))}
    </>
  );
}

/** Selects the moment of a mark. The end of the run is the present while the cluster's clock is paused. */
function goToMark({ at }: ReplayMark, { nowMs }: Span): void {
  const atMs = Date.parse(at);
  setMoment(atMs >= nowMs ? undefined : atMs);
}

function optionText({ afterMs, step, text }: ReplayMark): string {
  const after = afterMs < 1000 ? `${afterMs}ms` : humanDuration(afterMs);
  return texts.replay.option(
    after,
    step,
    text.length > MAX_OPTION_LENGTH ? `${text.slice(0, MAX_OPTION_LENGTH)}…` : text,
  );
}
