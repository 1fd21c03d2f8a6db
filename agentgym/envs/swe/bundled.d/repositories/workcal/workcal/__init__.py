"""Business days, recurring dates and ranges of dates."""

from workcal.dates import (
    FRIDAY,
    MONDAY,
    SATURDAY,
    SUNDAY,
    THURSDAY,
    TUESDAY,
    WEDNESDAY,
    add_months,
    add_years,
    age,
    days_in_month,
    easter,
    end_of_month,
    nth_weekday,
)
from workcal.ranges import DateRange
from workcal.recurrence import daily, monthly, monthly_on_weekday, weekly, yearly
from workcal.workdays import WorkCalendar

__all__ = [
    "FRIDAY",
    "MONDAY",
    "SATURDAY",
    "SUNDAY",
    "THURSDAY",
    "TUESDAY",
    "WEDNESDAY",
    "DateRange",
    "WorkCalendar",
    "add_months",
    "add_years",
    "age",
    "daily",
    "days_in_month",
    "easter",
    "end_of_month",
    "monthly",
    "monthly_on_weekday",
    "nth_weekday",
    "weekly",
    "yearly",
]
