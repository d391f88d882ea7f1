import type { Project } from '../manifest.ts';
import { autoscaler } from './autoscaler.ts';
import { certificates } from './certificates.ts';
import { gitops } from './gitops.ts';
import { ingress } from './ingress.ts';
import { monitoring } from './monitoring.ts';
import { operator } from './operator.ts';
import { policies } from './policies.ts';
import { serviceMesh } from './service-mesh.ts';
import { storage } from './storage.ts';

/** All projects, in the order in which the tests install them. */
export const projects: readonly Project[] = [
  gitops,
  serviceMesh,
  certificates,
  operator,
  storage,
  monitoring,
  autoscaler,
  ingress,
  policies,
];
