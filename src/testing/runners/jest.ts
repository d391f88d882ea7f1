/** `keelson/testing/jest`: matchers, and clusters that start and end with a test or a file. */
export { eventStory } from './event-story.ts';
export { clusterPerFile, clusterPerTest, type FileHooks, type TestHooks } from './hooks.ts';
export { matchers, type ClusterMatchers, type ExpectedEvent } from './matchers.ts';
