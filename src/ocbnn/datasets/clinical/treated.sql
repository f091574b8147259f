-- The windows of each stay in which a vasopressor ran or a fluid bolus was given.

-- Metavision charts intervals. A bolus is 250 ml or more at 250 ml an hour or faster.
CREATE VIEW metavision_treatments AS
SELECT e.subject_id, t.kind, e.starttime, greatest(e.starttime, e.endtime) AS endtime
FROM inputevents_mv AS e
JOIN treatments AS t USING (itemid)
WHERE coalesce(e.statusdescription, '') <> 'Rewritten'
    AND CASE t.kind
        WHEN 'vasopressor' THEN coalesce(e.rate, e.amount) > 0
        WHEN 'bolus' THEN
            millilitres(e.amount, e.amountuom) BETWEEN t.low AND t.high
            AND millilitres(e.amount, e.amountuom)
                >= t.low * coalesce(date_diff('second', e.starttime, e.endtime), 0) / 3600
    END;

-- Carevue charts moments. A rate holds until the drug's next one, an hour at most; at
-- one moment, the highest rate counts, and a stop ends it.
CREATE VIEW carevue_vasopressors AS
WITH rates AS (
    SELECT
        e.subject_id,
        e.itemid,
        e.charttime,
        t.kind,
        CASE
            WHEN bool_or(e.stopped IN ('Stopped', 'D/C''d')) THEN 0
            ELSE max(e.rate)
        END AS rate
    FROM inputevents_cv AS e
    JOIN treatments AS t USING (itemid)
    WHERE t.kind = 'vasopressor'
    GROUP BY ALL
)
SELECT
    subject_id,
    kind,
    charttime AS starttime,
    least(
        charttime + INTERVAL 1 HOUR,
        lead(charttime) OVER (PARTITION BY subject_id, itemid ORDER BY charttime)
    ) AS endtime
FROM (SELECT * FROM rates WHERE rate IS NOT NULL)
QUALIFY rate > 0;

-- Its bolus is one volume, written down when it was in.
CREATE VIEW carevue_boluses AS
SELECT e.subject_id, t.kind, e.charttime AS starttime, e.charttime AS endtime
FROM inputevents_cv AS e
JOIN treatments AS t USING (itemid)
WHERE t.kind = 'bolus'
    AND millilitres(e.amount, e.amountuom) BETWEEN t.low AND t.high;

CREATE TABLE treated AS
WITH given AS (
    SELECT * FROM metavision_treatments
    UNION ALL
    SELECT * FROM carevue_vasopressors
    UNION ALL
    SELECT * FROM carevue_boluses
),
placed AS (
    SELECT
        s.icustay_id,
        g.kind,
        windows_between(s.intime, g.starttime) AS first,
        windows_between(s.intime, g.endtime) AS past
    FROM given AS g
    JOIN kept_stays AS s
        ON g.subject_id = s.subject_id
        AND g.starttime < s.outtime
        AND g.endtime >= s.intime
)
-- What ends exactly where a window begins was not given in that window.
SELECT DISTINCT
    icustay_id,
    kind,
    unnest(range(
        greatest(0, floor(first))::BIGINT,
        greatest(floor(first) + 1, ceil(past))::BIGINT
    ))::INTEGER AS window_index
FROM placed;
