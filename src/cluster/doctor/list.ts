/** Every check of `keelson doctor`, in display order. A new check is a file and a line here. */
import { certificates } from './checks/certificates.ts';
import { cgroups } from './checks/cgroups.ts';
import { directory } from './checks/directory.ts';
import { disk } from './checks/disk.ts';
import { dns } from './checks/dns.ts';
import { firewall } from './checks/firewall.ts';
import { kernel } from './checks/kernel.ts';
import { modules } from './checks/modules.ts';
import { nodes } from './checks/nodes.ts';
import { ports } from './checks/ports.ts';
import { programs } from './checks/programs.ts';
import { ranges } from './checks/ranges.ts';
import { time } from './checks/time.ts';
import type { Check } from './finding.ts';

export const CHECKS: readonly Check[] = [
  kernel,
  cgroups,
  modules,
  programs,
  nodes,
  directory,
  ports,
  ranges,
  firewall,
  dns,
  time,
  disk,
  certificates,
];
