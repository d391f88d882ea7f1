/** The faults of a simulated machine, to be switched on and off. */
import { useSignal } from '@preact/signals';
import { ApiError } from '../../api/http.ts';
import { mayDriveSimulation, orderSimulation, simulation } from '../../app/simulation.ts';
import { texts } from '../../app/texts.ts';

export function NodeFaults({ node }: { readonly node: string }) {
  const problem = useSignal('');
  const busy = useSignal(false);
  if (!mayDriveSimulation()) return null;
  const { faults: words, failed } = texts.simulation;
  const faults = simulation.value?.broken.find((one) => one.node === node)?.faults ?? [];
  const isDown = faults.includes('noPower') || faults.includes('noKubelet');
  const order = async (what: string): Promise<void> => {
    busy.value = true;
    problem.value = '';
    try {
      await orderSimulation({ do: what, node });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      problem.value = `${failed} ${error.message}`;
    } finally {
      busy.value = false;
    }
  };
  const offered = [
    ...(isDown ? (['start'] as const) : (['stop'] as const)),
    ...(faults.includes('noPower') ? [] : (['crash'] as const)),
    faults.includes('partitioned') ? ('heal' as const) : ('partition' as const),
  ];
  const state = faults.length === 0 ? words.state.none : faults.map((fault) => words.state[fault]).join(', ');
  return (
    <section aria-label={words.title}>
      <h2>{words.title}</h2>
      <p role="status">{state}</p>
      <div class="object-buttons" role="group" aria-label={words.title}>
        {offered.map((what) => (
          <button key={what} type="button" disabled={busy.value} onClick={() => void order(what)}>
            {words[what]}
          </button>
        ))}
      </div>
      <p class="dim">{words.hint}</p>
      {problem.value === '' ? null : <p role="alert">{problem.value}</p>}
    </section>
  );
}
