/**
 * The TypeScript clients that people use, against the conformance capability of a running home.
 *
 * Usage: node typescript_client.mjs TRANSPORT CLIENT TARGET
 * TRANSPORT is `http` (TARGET: the URL of the capability's endpoint) or `stdio` (TARGET: the remit program).
 * CLIENT is `auto` or `legacy`, both of version 2, or `v1`. Prints one line of JSON for each step; all are compared
 * with one and the same file.
 */

const [transport, kind, target] = process.argv.slice(2);
const isFirst = kind === "v1";

/** What the person answers next to a form. */
let decision = "accept";

const answers = {
  elicitation: (request) =>
    decision === "accept" ? { action: "accept", content: filled(request.params.requestedSchema) } : { action: decision },
  sampling: () => ({
    role: "assistant",
    content: { type: "text", text: "Paris" },
    model: "none",
    stopReason: "endTurn",
  }),
  roots: () => ({ roots: [{ uri: "file:///home/ada", name: "Ada's" }] }),
};

/** A form with a word in each field of text. */
function filled(schema) {
  return Object.fromEntries(Object.keys(schema.properties).map((name) => [name, `my ${name}`]));
}

const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

async function connect() {
  const from = (path) => import(isFirst ? `@modelcontextprotocol/sdk/${path.first}` : `@modelcontextprotocol/client${path.second}`);
  const { Client } = await from({ first: "client/index.js", second: "" });
  const negotiation = isFirst ? {} : { versionNegotiation: { mode: kind } };
  const client = new Client({ name: "test", version: "1.0.0" }, { capabilities, ...negotiation });
  if (isFirst) {
    const types = await import("@modelcontextprotocol/sdk/types.js");
    client.setRequestHandler(types.ElicitRequestSchema, async (request) => answers.elicitation(request));
    client.setRequestHandler(types.CreateMessageRequestSchema, async () => answers.sampling());
    client.setRequestHandler(types.ListRootsRequestSchema, async () => answers.roots());
  } else {
    client.setRequestHandler("elicitation/create", async (request) => answers.elicitation(request));
    client.setRequestHandler("sampling/createMessage", async () => answers.sampling());
    client.setRequestHandler("roots/list", async () => answers.roots());
  }
  if (transport === "http") {
    const { StreamableHTTPClientTransport } = await from({ first: "client/streamableHttp.js", second: "" });
    await client.connect(new StreamableHTTPClientTransport(new URL(target)));
  } else {
    const { StdioClientTransport } = await from({ first: "client/stdio.js", second: "/stdio" });
    const env = { REMIT_HOME: process.env.REMIT_HOME, PATH: process.env.PATH };
    await client.connect(new StdioClientTransport({ command: target, args: ["serve", "--only", "test/conformance"], env }));
  }
  return client;
}

function say(step, value) {
  console.log(JSON.stringify({ [step]: value }));
}

const client = await connect();
const call = (name, args = {}, options) =>
  isFirst
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
const text = (result) => ({ error: result.isError === true, text: result.content.map((block) => block.text ?? block.type) });

const { tools } = await client.listTools();
say("tools", tools.map((tool) => tool.name).sort());
const { resources } = await client.listResources();
say("resources", resources.map((resource) => resource.uri).sort());
const { resourceTemplates } = await client.listResourceTemplates();
say("templates", resourceTemplates.map((template) => template.uriTemplate).sort());
const { prompts } = await client.listPrompts();
say("prompts", prompts.map((prompt) => prompt.name).sort());

say("mixed", text(await call("test_multiple_content_types")));
say("failing", text(await call("test_error_handling")));

const reports = [];
const onprogress = ({ progress, total }) => reports.push([progress, total]);
say("progressing", text(await call("test_tool_with_progress", {}, { onprogress })));
// The clients forget a call with its answer, also what came just before it: the rest is there, and in order.
say("progress", [reports[0], reports.every(([done], at) => done === 50 * at)]);

say("accepted", text(await call("test_elicitation", { message: "Who are you?" })));
decision = "decline";
say("declined", text(await call("test_elicitation", { message: "Who are you?" })));
decision = "cancel";
say("cancelled", text(await call("test_elicitation", { message: "Who are you?" })));
decision = "accept";
say("several", text(await call("test_input_required_result_multiple_inputs")));
say("two rounds", text(await call("test_input_required_result_multi_round")));
say("sampled", text(await call("test_sampling", { prompt: "What is the capital of France?" })));

for (const uri of ["test://static-text", "test://static-binary", "test://template/7/data"]) {
  const { contents } = await client.readResource({ uri });
  say("read", contents.map(({ uri, mimeType, text, blob }) => ({ uri, mimeType, text, bytes: blob?.length })));
}
try {
  await client.readResource({ uri: "test://nothing" });
  say("missing", "read");
} catch (error) {
  // The number differs between the eras.
  say("missing", [-32602, -32002].includes(error.code));
}

const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
say("prompt", prompt.messages.map(({ role, content }) => [role, content.text]));
const asked = await client.getPrompt({ name: "test_input_required_result_prompt" });
say("prompt that asks", asked.messages.map(({ role, content }) => [role, content.text]));
const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" };
const { completion } = await client.complete({ ref, argument: { name: "arg1", value: "par" } });
say("completion", completion.values);

try {
  const result = await call("no_such_tool");
  say("unknown", result.isError === true ? "a failure" : "answered");
} catch (error) {
  say("unknown", error.code);
}
await client.close();
