-- Words that the other files use.
CREATE MACRO window_hours() AS 4;

-- How many windows, with fractions, lie between two times.
CREATE MACRO windows_between(early, late) AS
    date_diff('second', early, late) / (3600 * window_hours());

CREATE MACRO millilitres(amount, unit) AS
    CASE lower(unit) WHEN 'ml' THEN amount WHEN 'l' THEN 1000 * amount END;
