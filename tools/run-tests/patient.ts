// Preloaded into tests that need only the processor: lowers their priority below other tests.
import { constants, setPriority } from 'node:os';

setPriority(constants.priority.PRIORITY_LOW);
