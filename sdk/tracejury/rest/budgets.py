"""Budgets as the API shows them."""

from __future__ import annotations

from pydantic import Field

from tracejury.rest.base import Document


class BudgetState(Document):
    """What judging has cost today (UTC), and what it may cost; null limits are none."""

    rule: str = Field(description='name of the rule; "" for all rules together')
    spent_usd: float = Field(description="US dollars spent today, as far as prices are known")
    usd_per_day: float | None = Field(default=None, description="limit in US dollars a day")
    spent_tokens: int = Field(description="tokens spent today, input and output")
    tokens_per_day: int | None = Field(default=None, description="limit in tokens a day")
    has_unpriced: bool = Field(description="some of the tokens have no known price")
    refusal: str = Field(
        default="", description='why no judge may be asked any more today; "" while one may'
    )
