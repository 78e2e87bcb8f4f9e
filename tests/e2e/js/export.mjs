// Sends one trace of two spans and one log record over OTLP/HTTP JSON; prints what was sent.
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [url, compression] = process.argv.slice(2);
const spans = new BasicTracerProvider({
  spanProcessors: [
    new BatchSpanProcessor(new OTLPTraceExporter({ url: `${url}/v1/traces`, compression })),
  ],
});
const tracer = spans.getTracer("js-agent", "1.2.3");
const root = tracer.startSpan("invoke_agent js", { kind: SpanKind.INTERNAL });
root.setAttributes({ text: "héllo", count: 42, ratio: 0.5, yes: true, list: ["a", "b"] });
const under = trace.setSpan(context.active(), root);
const child = tracer.startSpan("chat", { kind: SpanKind.CLIENT }, under);
child.addEvent("thought", { step: 1 });
child.setStatus({ code: SpanStatusCode.ERROR, message: "no" });
child.end();
root.end();

const logs = new LoggerProvider({
  processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: `${url}/v1/logs` }) })],
});
logs.getLogger("js-agent").emit({ eventName: "said", body: { content: "hi" }, context: under });

await spans.forceFlush();
await logs.forceFlush();
const ids = ({ traceId, spanId }) => ({ traceId, spanId });
console.log(JSON.stringify({ root: ids(root.spanContext()), child: ids(child.spanContext()) }));
await spans.shutdown();
await logs.shutdown();
