/** Formats ports. */
import type { PortRange } from '../../../api/reach.ts';
import { texts } from '../../app/texts.ts';

const LAST_PORT = 65_535;

export function portsText(ports: readonly PortRange[]): string {
  return ports.map(portText).join(', ');
}

function portText({ protocol, first, last }: PortRange): string {
  if (first === 0 && last === LAST_PORT) return texts.topology.policies.allPorts(protocol);
  return first === last ? `${protocol} ${first}` : `${protocol} ${first}-${last}`;
}
