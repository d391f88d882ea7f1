/** The tools of `keelson mcp`: the one literal list. Every tool only reads. */
import { historyTool, traceTool } from './history.ts';
import { eventsTool, logsTool } from './logs.ts';
import { getTool, kindsTool, listTool } from './objects.ts';
import type { Tool } from './tool.ts';
import { troubleTool, whyTool } from './why.ts';

export const tools: readonly Tool[] = [
  troubleTool,
  whyTool,
  kindsTool,
  listTool,
  getTool,
  eventsTool,
  logsTool,
  historyTool,
  traceTool,
];
