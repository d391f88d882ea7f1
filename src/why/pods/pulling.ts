/** Reports images that are being pulled, which only events show. */
import { podContainers } from '../../api/pod-containers.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Container, Event, Pod } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** Reasons of events about a container's image, including those that end its pull. */
const REASONS: ReadonlySet<string> = new Set(['Pulling', 'Pulled', 'Failed', 'BackOff', 'Created', 'Started']);

/** The images that containers of a pod wait for. */
export async function pullingCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const events = await evidence.events(pod);
  return podContainers(pod.spec).flatMap((container) => {
    const newest = events.find(
      ({ reason = '', involvedObject }) =>
        REASONS.has(reason) && (involvedObject.fieldPath ?? '').endsWith(`{${container.name}}`),
    );
    return newest?.reason === 'Pulling' ? [pullingCause(pod, container, newest)] : [];
  });
}

function pullingCause(pod: Pod, { name, image = '' }: Container, event: Event): Cause {
  return cause({
    code: 'Pulling',
    object: nameOfObject(Pods, pod),
    message: `image ${image} of container ${name} is being pulled`,
    since: formatTime(timeOfEvent(event)),
    cure: { text: `wait; if it takes longer than ${image} is large, see on the node whether its registry answers` },
  });
}
