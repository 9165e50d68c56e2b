// What programs in Java ask through JDBC: tables, columns, questions with parameters. One line for each answer.

import java.sql.*;
import java.time.*;
import java.util.*;

public class Asks {
  static String cells(ResultSet rows) throws SQLException {
    StringJoiner lines = new StringJoiner(";");
    int width = rows.getMetaData().getColumnCount();
    while (rows.next()) {
      StringJoiner line = new StringJoiner("|");
      for (int i = 1; i <= width; i++) line.add(String.valueOf(rows.getObject(i)));
      lines.add(line.toString());
    }
    rows.close();
    return lines.toString();
  }

  static void tell(String name, Object value) {
    System.out.println(name + " " + value);
  }

  static void described(DatabaseMetaData about) throws SQLException {
    tell("keywords", about.getSQLKeywords());
    tell("tables", cells(about.getTables(null, "public", "%", new String[] {"TABLE"})));
    StringJoiner columns = new StringJoiner(",");
    ResultSet rows = about.getColumns(null, null, "visits", "%");
    while (rows.next()) columns.add(rows.getString("COLUMN_NAME") + ":" + rows.getString("TYPE_NAME"));
    tell("columns", columns);
    tell("primary", cells(about.getPrimaryKeys(null, null, "visits")));
    tell("foreign", cells(about.getImportedKeys(null, null, "visits")));
    tell("indices", cells(about.getIndexInfo(null, null, "visits", false, false)));
  }

  static void asked(Connection link) throws SQLException {
    String sql = "SELECT count(*) AS n, sum(cost) AS s FROM visits WHERE cost > ? AND region = ? AND day >= ? "
        + "AND patient < ? AND urgent = ? LIMIT ?";
    try (PreparedStatement question = link.prepareStatement(sql)) {
      for (String time : new String[] {"first", "", "", "", "", "", "seventh"}) {
        question.setDouble(1, 10.5);
        question.setString(2, "north");
        question.setDate(3, java.sql.Date.valueOf("2024-01-01"));
        question.setLong(4, 1000);
        question.setBoolean(5, false);
        question.setInt(6, 1);
        ResultSet rows = question.executeQuery();
        ResultSetMetaData kinds = rows.getMetaData();
        String types = kinds.getColumnTypeName(1) + " " + kinds.getColumnTypeName(2) + " ";
        String found = cells(rows);
        if (!time.isEmpty()) tell(time, types + found);
      }
    }
  }

  static void dated(Connection link) throws SQLException {
    try (PreparedStatement question = link.prepareStatement("SELECT count(*) FROM visits WHERE day > ?")) {
      question.setTimestamp(1, Timestamp.valueOf("2024-02-01 00:00:00"));
      tell("timestamp", cells(question.executeQuery()));
      question.setObject(1, OffsetDateTime.parse("2024-02-01T00:00:00Z"));
      tell("offset", cells(question.executeQuery()));
      question.setObject(1, LocalDateTime.parse("2024-02-01T00:00:00"));
      tell("local", cells(question.executeQuery()));
      question.setObject(1, LocalDate.parse("2024-02-01"));
      tell("day", cells(question.executeQuery()));
    }
  }

  static void stepped(Connection link) throws SQLException {
    String sql = "SELECT region, count(*) AS select FROM visits GROUP BY region ORDER BY region";
    link.setAutoCommit(false);
    try (PreparedStatement question = link.prepareStatement(sql)) {
      question.setFetchSize(2);
      tell("fetched", cells(question.executeQuery()));
    }
    link.commit();
    link.setAutoCommit(true);
  }

  static void said(Statement statement) throws SQLException {
    statement.execute("PREPARE p(text) AS SELECT count(*) FROM visits WHERE region = $1");
    tell("executed", cells(statement.executeQuery("EXECUTE p('north')")));
    statement.execute("DEALLOCATE p");
    statement.execute("SET discreet.epsilon = 7");
    String constants = "TIMESTAMP '2024-02-29 12:30:00' AS m, DATE '2024-02-29' AS d, TRUE AS b, NULL AS z, 1.5 AS x";
    tell("typed", cells(statement.executeQuery("SELECT count(*), " + constants + " FROM visits WHERE cost >= 123")));
    tell("warned", statement.getWarnings());
    try {
      statement.executeQuery("SELECT cost FROM visits");
    } catch (SQLException refused) {
      tell("refused", refused.getSQLState());
    }
  }

  public static void main(String[] none) throws SQLException {
    TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
    String address = "jdbc:postgresql://127.0.0.1:" + System.getenv("PORT") + "/discreet";
    try (Connection link = DriverManager.getConnection(address, "ana", System.getenv("TOKEN"))) {
      described(link.getMetaData());
      asked(link);
      dated(link);
      stepped(link);
      try (Statement statement = link.createStatement()) {
        said(statement);
      }
    }
  }
}
