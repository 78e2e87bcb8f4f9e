"""The agent of the demo: Pydantic AI with its own OpenTelemetry instrumentation.

This is all that an agent of yours needs: `tracejury.instrument()`, and its library's own switch.
"""

from __future__ import annotations

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import tracejury
from tracejury_collector.demo.llm import MODEL

QUESTION = "I will be in Lisbon on Saturday. What will the weather be, and where can I sleep?"


def get_weather(city: str, day: str) -> dict[str, str | int]:
    """Return the forecast for a city."""
    return {"city": city, "day": day, "sky": "sunny", "high_c": 24}


def find_hotels(city: str, max_price_eur: int) -> list[dict[str, str | int]]:
    """Return the hotels of a city up to a price per night."""
    hotels: list[dict[str, str | int]] = [
        {"name": "Casa do Rio", "city": city, "price_eur": 118},
        {"name": "Hotel Alfama", "city": city, "price_eur": 142},
    ]
    return [hotel for hotel in hotels if int(hotel["price_eur"]) <= max_price_eur]


def run_agent(otlp_endpoint: str, llm_url: str) -> str:
    """Run the agent once, its spans exported to `otlp_endpoint`; return its answer."""
    provider = tracejury.instrument(otlp_endpoint, "travel-agent")
    client = AsyncOpenAI(base_url=llm_url, api_key="demo")
    agent = Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
        name="travel_agent",
        instructions="You help travelers. Use the tools; do not guess.",
        tools=[get_weather, find_hotels],
        capabilities=[Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))],
    )
    answer = agent.run_sync(QUESTION).output
    provider.force_flush()
    return answer
