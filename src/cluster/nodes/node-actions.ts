/** The actions that a user can perform on a further node of this machine. */
export const NODE_ACTIONS = ['start', 'stop', 'kill', 'partition', 'heal'] as const;

export type NodeAction = (typeof NODE_ACTIONS)[number];
