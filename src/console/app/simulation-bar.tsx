/** The clock of a simulated cluster, and the faults of its machines. */
import { useSignal } from '@preact/signals';
import { ApiError, send } from '../api/http.ts';
import { kindNamed, mayGetPath } from './cluster-state.ts';
import { nowMs } from '../parts/age.tsx';
import { saveFile } from '../parts/save-file.ts';
import { shownAt } from './hrefs.ts';
import { ReplayFileControl } from './replay-file-control.tsx';
import { mayDriveSimulation, orderSimulation, simulation, SIMULATION_PATH } from './simulation.ts';
import { numberText, texts } from './texts.ts';

const SCENARIO_PATH = `${SIMULATION_PATH}/scenario`;
const SPEEDS = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

export function SimulationBar() {
  const known = simulation.value;
  const problem = useSignal('');
  if (known === undefined) return null;
  const { simulation: words } = texts;
  const attempt = (work: Promise<void>): void => {
    problem.value = '';
    work.catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      problem.value = `${words.failed} ${error.message}`;
    });
  };
  const order = (what: object): void => attempt(orderSimulation(what));
  return (
    <section class="simulation-bar" aria-label={words.title}>
      <strong>{words.title}</strong>
      {known.clock === undefined ? <span class="dim">{words.realTime}</span> : <ClockControls order={order} />}
      {known.recording && mayGetPath(SCENARIO_PATH) ? (
        <button type="button" onClick={() => attempt(saveScenario())}>
          {words.scenario}
        </button>
      ) : null}
      <ReplayFileControl attempt={attempt} />
      <Broken />
      {problem.value === '' ? null : <span role="alert">{problem.value}</span>}
    </section>
  );
}

function ClockControls({ order }: { readonly order: (what: object) => void }) {
  const { simulation: words } = texts;
  const step = useSignal(10);
  void nowMs.value; // subscribes to the clock
  const { clock, now } = simulation.value!;
  const { paused, speed, reached } = clock!;
  const when = new Date(Date.parse(now)).toLocaleString();
  const reachedText = paused ? words.paused : words.reached(numberText(Math.round(reached * 10) / 10));
  if (!mayDriveSimulation()) return <span class="mono">{`${words.now(when)} · ${reachedText}`}</span>;
  return (
    <>
      <span class="mono">{words.now(when)}</span>
      <button type="button" class="primary" onClick={() => order({ do: paused ? 'run' : 'pause' })}>
        {paused ? words.run : words.pause}
      </button>
      <span class="simulation-pair">
        <button type="button" onClick={() => order({ do: 'step', seconds: step.value })}>
          {words.step}
        </button>
        <select
          aria-label={words.stepSize}
          value={step.value}
          onChange={({ currentTarget: { value } }) => (step.value = Number(value))}
        >
          {Object.entries(words.steps).map(([seconds, text]) => (
            <option key={seconds} value={seconds}>
              {text}
            </option>
          ))}
        </select>
      </span>
      <span class="simulation-pair">
        {words.speed}
        <select
          aria-label={words.speed}
          value={speed}
          onChange={({ currentTarget: { value } }) => order({ do: 'speed', speed: Number(value) })}
        >
          {[...new Set([...SPEEDS, speed])].map((one) => (
            <option key={one} value={one}>
              {`×${numberText(one)}`}
            </option>
          ))}
        </select>
      </span>
      <span class="dim">{reachedText}</span>
    </>
  );
}

function Broken() {
  const { broken } = simulation.value!;
  const kind = kindNamed('nodes');
  if (broken.length === 0) return null;
  const { broken: title, faults } = texts.simulation;
  return (
    <span>
      {`${title} `}
      {broken.slice(0, 5).map(({ node, faults: found }) => (
        <span key={node} class="mono">
          <a href={kind && shownAt({ kind, namespace: '', name: node })}>{node}</a>
          {` (${found.map((fault) => faults.state[fault]).join(', ')}) `}
        </span>
      ))}
      {broken.length > 5 ? texts.object.more(broken.length - 5) : ''}
    </span>
  );
}

async function saveScenario(): Promise<void> {
  const response = await send(SCENARIO_PATH);
  saveFile('scenario.yaml', await response.blob());
}
