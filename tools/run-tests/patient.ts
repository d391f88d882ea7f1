// Preloaded into tests that need nothing but the processor: they take what the others leave.
import { constants, setPriority } from 'node:os';

setPriority(constants.priority.PRIORITY_LOW);
